"""What MySQL and MariaDB share: servers whose one process is mysqld, or mariadbd."""
